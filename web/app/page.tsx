/** The self-check: tells visitors whether their errors are noticed, and how. */

import type { ReactNode } from 'react'
import { SelfCheck } from '../features/connection-check/connection-check.tsx'
import { PrivacyNote } from '../features/privacy-note.tsx'
import { config } from '../lib/config.ts'
import { Shell } from '../ui/page-shell.tsx'

export default function Home() {
  const { browser, sentryHost, directUrl, tunnelPath } = config()
  const plan = { dsn: browser.dsn, tunnel: browser.tunnel, ...(directUrl && { direct: directUrl }) }
  return (
    <Shell at="check">
      <header className="max-w-3xl">
        <h1 className="text-hero">Does this site notice when it breaks for you?</h1>
        <p className="mt-5 text-lead text-quiet">
          When a page fails, your browser can tell the people who run it. Ad blockers and networks often cut
          that off. This site carries such reports through its own address,{' '}
          <code className="text-ink">{tunnelPath}</code>, and checks here, from your browser, whether they
          arrive.
        </p>
      </header>
      <PrivacyNote />
      <div className="mt-10">
        <noscript>
          <p className="mb-6 rounded-card border border-line bg-surface p-5">
            The check needs JavaScript, which is off in this browser. Without it a page here cannot report an
            error either: nothing is sent, and nothing but your request for this page is known.
          </p>
        </noscript>
        <div className="noscript:hidden">
          <SelfCheck plan={plan} end={sentryHost ? 'Sentry' : 'Its inbox'}>
            {sentryHost && <HowToRead />}
          </SelfCheck>
        </div>
      </div>
      <div className="mt-14 grid gap-x-12 gap-y-10 desk:grid-cols-3">
        <Fact title="What the check sends">
          One empty message for each way, when you open this page and when you press the button. It names no
          error, and says nothing about you.
        </Fact>
        <Fact title="What a real report says">
          What went wrong and where in the code, the address of the page, which browser you use, and the last
          things clicked here.{' '}
          {sentryHost
            ? 'Your network address goes with it, your cookies do not.'
            : 'Neither your network address nor your cookies are sent on.'}
        </Fact>
        <Fact title="Where it goes">
          {sentryHost ? (
            <>
              To this site, which hands it on to <code>{sentryHost}</code>. If that cannot be reached, this
              site keeps it until it can.
            </>
          ) : (
            'To this site and no further: no Sentry is configured here, so it stays in the site’s own inbox for a week at most.'
          )}
        </Fact>
      </div>
    </Shell>
  )
}

function HowToRead() {
  return (
    <details>
      <summary className="min-h-11 content-center font-semibold">How to read this</summary>
      <ul className="mt-1 grid max-w-3xl gap-3 text-quiet">
        <li>
          <strong className="text-ink">Stopped:</strong> an ad blocker does that, and so does a filter or a
          fault of the network. A page cannot tell which.
        </li>
        <li>
          <strong className="text-ink">Answered, and not to be read:</strong> by a Sentry that sends no CORS
          headers, or by a filter in its place.
        </li>
        <li>
          <strong className="text-ink">Our own fault:</strong> the browser has told this page that its
          Content-Security-Policy forbade the try. It says nothing about your browser or network.
        </li>
        <li>
          <strong className="text-ink">The time</strong> is that from the request to the answer, as this
          browser saw it.
        </li>
      </ul>
    </details>
  )
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="text-title">{title}</h2>
      <p className="mt-2 text-quiet">{children}</p>
    </section>
  )
}

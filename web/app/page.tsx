/** Connection check: shows visitors whether error reports from their browser arrive, and on which route. */

import type { ReactNode } from 'react'
import { ConnectionCheck } from '../features/connection-check/connection-check.tsx'
import { PrivacyNote, ReachTest } from '../features/visitor-privacy.tsx'
import { config } from '../lib/config.ts'
import { CodeBlock } from '../ui/code-block.tsx'
import { Shell } from '../ui/page-shell.tsx'

export default function Home() {
  const { browser, sentryHost, directUrl, tunnelPath } = config()
  const plan = { dsn: browser.dsn, tunnel: browser.tunnel, ...(directUrl && { direct: directUrl }) }
  return (
    <Shell at="check">
      <header className="max-w-3xl">
        <h1 className="text-hero">Connection check</h1>
        <p className="mt-5 text-lead text-quiet">
          {sentryHost
            ? 'Culvert delivers this site’s error reports to Sentry'
            : 'Culvert receives this site’s error reports'}{' '}
          through the site’s own address, <code className="text-ink">{tunnelPath}</code>, past ad blockers and
          through outages.
        </p>
        <nav aria-label="For the people who run this site" className="mt-3 flex flex-wrap gap-x-6">
          <a href="/console" className="link-block">
            Console
          </a>
          <a href="/console/setup" className="link-block">
            Set up your site
          </a>
          <a href="/console/docs" className="link-block">
            Documentation
          </a>
        </nav>
      </header>
      <div className="mt-8">
        <noscript>
          <p className="mb-6 rounded-card border border-line bg-surface p-5">
            The check needs JavaScript, which is off in this browser. Without JavaScript, pages cannot report
            errors either: the browser sends nothing except its request for this page.
          </p>
        </noscript>
        <div className="noscript:hidden">
          <ConnectionCheck plan={plan} end={sentryHost ? 'Sentry' : 'Inbox'}>
            {sentryHost && <HowToRead />}
          </ConnectionCheck>
        </div>
      </div>
      <PrivacyNote />
      <div className="mt-14 grid gap-x-12 gap-y-10 desk:grid-cols-3">
        <Fact title="Data sent by the check">
          Ad blockers and networks often block error reports; this page checks whether they arrive from your
          browser. It sends one empty client report per route, when you open this page and when you press the
          button. It contains no error and no data about you.
        </Fact>
        <Fact title="Contents of an error report">
          The error and its place in the code, the address of the page, your browser, and your last clicks on
          this site.{' '}
          {sentryHost
            ? 'Your IP address is included, your cookies are not.'
            : 'Neither your IP address nor your cookies are included.'}
        </Fact>
        <Fact title="Destination">
          {sentryHost ? (
            <>
              This site forwards reports to <code>{sentryHost}</code>. When that server is unreachable, this
              site stores them and delivers them later.
            </>
          ) : (
            'This site only: no Sentry is configured, so reports stay in the site’s own inbox for at most a week.'
          )}
        </Fact>
      </div>
      <details className="mt-10">
        <summary className="min-h-11 content-center font-semibold">Report errors of another page</summary>
        <p className="mt-2 mb-3 text-quiet">Put this line into the head of a page of this site:</p>
        <CodeBlock
          label="Script tag"
          text={`<script src="${tunnelPath}/sdk.js" crossorigin></script>`}
          copy="Copy the script tag"
        />
      </details>
      <ReachTest />
    </Shell>
  )
}

function HowToRead() {
  return (
    <details>
      <summary className="min-h-11 content-center font-semibold">How to read the results</summary>
      <ul className="mt-1 grid max-w-3xl gap-3 text-quiet">
        <li>
          <strong className="text-ink">Request failed:</strong> an ad blocker, a filter or a network fault can
          cause this. A page cannot tell which.
        </li>
        <li>
          <strong className="text-ink">Response not readable:</strong> Sentry sent no CORS headers, or a
          filter answered in its place.
        </li>
        <li>
          <strong className="text-ink">Fault of this site:</strong> the Content-Security-Policy of this page
          blocked the request. Your browser and network are not the cause.
        </li>
        <li>
          <strong className="text-ink">Time:</strong> from the request to the response, as measured by this
          browser.
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

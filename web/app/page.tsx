/** Tells a visitor what this site does with its errors, and lets them see it happen. */

import { config } from '../lib/config.ts'
import { BreakThisPage } from '../ui/break-this-page.tsx'
import { Way } from '../ui/way.tsx'

export default function Home() {
  const { tunnelPath, sentryHost } = config()
  return (
    <main>
      <header>
        <p className="brand">Culvert</p>
        <h1>This site carries its own error reports.</h1>
        <p className="lead">
          When something on a page breaks, your browser tells this site, at <code>{tunnelPath}</code>, and
          nobody else.{' '}
          {sentryHost
            ? 'This site passes the report on to Sentry.'
            : 'This site keeps the report in its own inbox.'}
        </p>
      </header>
      <Way tunnelPath={tunnelPath} sentryHost={sentryHost} />
      <section aria-labelledby="inside">
        <h2 id="inside">What a report says</h2>
        <p>
          What went wrong and where in the code, the address of the page, which browser you use, and the last
          things clicked here.{' '}
          {sentryHost
            ? 'Your network address goes with it, your cookies do not.'
            : 'Neither your network address nor your cookies are kept with it.'}
        </p>
      </section>
      <BreakThisPage />
    </main>
  )
}

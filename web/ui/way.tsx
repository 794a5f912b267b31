/** The way of one report, drawn as the three places it comes to. */

export function Way({ tunnelPath, sentryHost }: { tunnelPath: string; sentryHost: string | undefined }) {
  return (
    <ol className="way" aria-label="The way of one report">
      <li>
        <strong>Your browser</strong>
        <span>something breaks</span>
      </li>
      <li>
        <strong>This site</strong>
        <code>{tunnelPath}</code>
      </li>
      <li>
        <strong>{sentryHost ? 'Sentry' : 'Its inbox'}</strong>
        {sentryHost ? <code>{sentryHost}</code> : <span>no Sentry is configured</span>}
      </li>
    </ol>
  )
}

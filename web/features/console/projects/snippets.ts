/** Code that makes a page or an app report through this site, also step by step for each framework. */

import { type Dsn, formatDsn, parseDsn, tunnelUrl } from 'contract/dsn'

/** Options of `Sentry.init`, each on its own line. */
function initOptions(dsn: string, tunnelPath: string): string {
  return `  dsn: '${dsn}',\n  tunnel: '${urlFor(dsn, tunnelPath)}',`
}

export function initSnippet(dsn: string, tunnelPath: string): string {
  return `Sentry.init({\n${initOptions(dsn, tunnelPath)}\n})`
}

export function scriptTag(dsn: string, tunnelPath: string): string {
  return `<script src="${urlFor(dsn, `${tunnelPath}/sdk.js`)}" crossorigin></script>`
}

/** Adds the query that names the project. */
function urlFor(dsn: string, path: string): string {
  const parsed = parseDsn(dsn)
  return parsed ? tunnelUrl(path, parsed) : path
}

/** Returns the name of a project as receipts and statuses have it. */
export function projectName({ host, port, projectId }: Dsn): string {
  return `${host}${port && `:${port}`}/${projectId}`
}

/** Returns a DSN as SDKs write it, without a secret; `undefined` for an invalid one. */
export function publicDsn(text: string): string | undefined {
  const parsed = parseDsn(text)
  return parsed && formatDsn(parsed)
}

/** `code` is copied into the file or the shell that `text` names. */
type Step = { text: string; label: string; code: string }

export type Framework = { id: string; name: string; steps: (target: Target) => Step[] }

/** DSN of the project and tunnel path of this site. */
export type Target = { dsn: string; tunnelPath: string }

const importOf = (sdk: string) => `import * as Sentry from '${sdk}'\n\n`

export const FRAMEWORKS: readonly Framework[] = [
  {
    id: 'script',
    name: 'One script tag',
    steps: (target) => [
      tagStep(
        target,
        'Put this line into the head of each page, before every other script, without async, defer or type="module": with them, errors from before it are missed.',
      ),
    ],
  },
  {
    id: 'next',
    name: 'Next.js',
    steps: ({ dsn, tunnelPath }) => [
      {
        text: 'In the browser. This file and the next are beside the folder app: in src if you have that folder, else in the root.',
        label: 'instrumentation-client.ts',
        code: `${importOf('@sentry/nextjs')}${initSnippet(dsn, tunnelPath)}\n\nexport const onRouterTransitionStart = Sentry.captureRouterTransitionStart`,
      },
      {
        text: 'On the server. Set TUNNEL_ORIGIN in the environment of your app: npm start prints it; in a service of Compose it is http://nginx:8081.',
        label: 'instrumentation.ts',
        code: `${importOf('@sentry/nextjs')}export function register() {\n  const { TUNNEL_ORIGIN } = process.env\n  Sentry.init({\n    dsn: '${dsn}',\n    tunnel: TUNNEL_ORIGIN && \`\${TUNNEL_ORIGIN}${urlFor(dsn, tunnelPath)}\`,\n  })\n}\n\nexport const onRequestError = Sentry.captureRequestError`,
      },
      {
        text: 'Leave out the option tunnelRoute, which would override tunnel.',
        label: 'next.config.ts',
        code: "import { withSentryConfig } from '@sentry/nextjs/config'\nimport type { NextConfig } from 'next'\n\nconst nextConfig: NextConfig = {}\n\nexport default withSentryConfig(nextConfig, {})",
      },
      {
        text: 'In development, open your app through Culvert at localhost, not at 127.0.0.1, where next dev refuses its scripts: add its address to Culvert’s .env.',
        label: '.env of Culvert',
        code: 'APP_URL=http://127.0.0.1:3000',
      },
    ],
  },
  {
    id: 'vite',
    name: 'React with Vite',
    steps: ({ dsn, tunnelPath }) => [
      { text: 'Install the SDK.', label: 'Shell', code: 'npm install @sentry/react' },
      {
        text: "Add this file, and make import './instrument' the first line of src/main.tsx.",
        label: 'src/instrument.ts',
        code: importOf('@sentry/react') + initSnippet(dsn, tunnelPath),
      },
      {
        text: 'In development, open your app through Culvert: add its address to Culvert’s .env. Vite may listen on [::1] instead of 127.0.0.1.',
        label: '.env of Culvert',
        code: 'APP_URL=http://127.0.0.1:5173',
      },
    ],
  },
  {
    id: 'sdk',
    name: 'Another Sentry SDK',
    steps: ({ dsn, tunnelPath }) => [
      {
        text: 'Every browser SDK of Sentry has these options. Keep your others.',
        label: 'Options of Sentry.init',
        code: initOptions(dsn, tunnelPath),
      },
    ],
  },
  {
    id: 'wordpress',
    name: 'WordPress',
    steps: ({ dsn, tunnelPath }) => [
      {
        text: 'Add this line to the theme.',
        label: 'functions.php',
        code: `add_action('wp_head', function () { echo '${scriptTag(dsn, tunnelPath)}'; }, 0);`,
      },
    ],
  },
  {
    id: 'rails',
    name: 'Rails',
    steps: (target) => [
      tagStep(
        target,
        'Put this line into the head of app/views/layouts/application.html.erb. With a nonce in your Content-Security-Policy, add nonce="<%= content_security_policy_nonce %>".',
      ),
    ],
  },
  {
    id: 'laravel',
    name: 'Laravel',
    steps: (target) => [
      tagStep(
        target,
        'Put this line into the head of the layout in resources/views. With a nonce in your Content-Security-Policy, add nonce="{{ Vite::cspNonce() }}".',
      ),
    ],
  },
]

function tagStep({ dsn, tunnelPath }: Target, text: string): Step {
  return { text, label: 'Script tag', code: scriptTag(dsn, tunnelPath) }
}

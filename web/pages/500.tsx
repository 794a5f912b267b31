/** Fallback error page, for pages that Next.js could not begin to render. */

import Head from 'next/head'
import { ApplicationError } from '../ui/application-error.tsx'
import icon from '../ui/icon.svg'

export default function Broken({ host }: { host: string }) {
  return (
    <>
      <Head>
        <title>Application error</title>
        <link rel="icon" href={icon.src} />
      </Head>
      <ApplicationError side="server" host={host} />
    </>
  )
}

/** In place of a page that Next could not even begin to render; it would have one of its own, made at build time. */

import Head from 'next/head'
import { ApplicationError } from '../ui/application-error.tsx'

export default function Broken({ host }: { host: string }) {
  return (
    <>
      <Head>
        <title>Application error</title>
        <link rel="icon" href="/icon.svg" />
      </Head>
      <ApplicationError side="server" host={host} />
    </>
  )
}

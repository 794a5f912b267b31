/** Has the one page of this router made for each request, not at build time: only then has it a nonce and our settings. */

import type { AppContext, AppProps } from 'next/app'
import '../app/global.css'

type Props = { host: string }

export default function App({ Component, host }: AppProps & Props) {
  return <Component host={host} />
}

App.getInitialProps = ({ ctx }: AppContext): Props => ({ host: ctx.req?.headers.host ?? location.host })

/** Renders the fallback error page at request time, since it needs a nonce and the settings. */

import type { AppContext, AppProps } from 'next/app'
import '../app/global.css'

type Props = { host: string }

export default function App({ Component, host }: AppProps & Props) {
  return <Component host={host} />
}

App.getInitialProps = ({ ctx }: AppContext): Props => ({ host: ctx.req?.headers.host ?? location.host })

/** Document of the fallback error page, with nonce and settings. */

import NextDocument, { type DocumentContext, Head, Html, Main, NextScript } from 'next/document'
import { config } from '../lib/config.ts'
import { nonceOf } from '../lib/security-headers.ts'
import { settingsAttribute } from '../lib/sentry/browser-config.ts'
import { settingsFor } from '../lib/sentry/privacy.ts'

type Props = { nonce: string; settings: ReturnType<typeof settingsAttribute> }

export default class Document extends NextDocument<Props> {
  static override async getInitialProps(context: DocumentContext) {
    const headers = new Headers(context.req?.headers as Record<string, string>)
    const nonce = nonceOf(headers)
    const settings = settingsAttribute(settingsFor(config(), headers))
    return { ...(await NextDocument.getInitialProps(context)), nonce, settings }
  }

  override render() {
    const { nonce, settings } = this.props
    return (
      <Html lang="en" {...settings}>
        <Head nonce={nonce} />
        <body>
          <Main />
          <NextScript nonce={nonce} />
        </body>
      </Html>
    )
  }
}

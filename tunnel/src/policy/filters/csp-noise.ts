/** Filters for CSP reports that the site has not caused: extensions, pages of the browser, and scripts that others inject. */

import type { CspFilterName } from 'contract/admin-api'

/** Matches a scheme, alone or before the rest of a URL. Browsers often report nothing but the scheme. */
function schemes(...names: string[]): RegExp {
  return new RegExp(`^(?:${names.join('|')})(?::|$)`, 'i')
}

// `DEFAULT_DISALLOWED_SOURCES` in sentry/interfaces/security.py, which Sentry gives to Relay (relay-filter/src/csp.rs). Names that begin
// with a dot also match subdomains.
const INJECTING_HOSTS = `
  .metrext.com static.image2play.com .tlscdn.com 73a5b0806e464be8bd4e694c744624f0.com
  020dfefc4ac745dab7594f2f771c1ded.com .superfish.com addons.mozilla.org v.zilionfast.in widgets.amung.us
  xls.searchfun.in istatic.datafastguru.info resultshub-a.akamaihd.net pulseadnetwork.com gateway.zscalertwo.net
  www.passpack.com middlerush-a.akamaihd.net www.websmartcenter.com a.linkluster.com saveyoutime.ru
  cdncache-a.akamaihd.net x.rafomedia.com savingsslider-a.akamaihd.net injections.adguard.com icontent.us amiok.org
  connectionstrenth.com siteheart.net netanalitics.space printapplink.com godlinkapp.com devappstor.com
  hoholikik.club smartlink.cool promfflinkdev.com`
  .trim()
  .split(/\s+/)

const MATCHERS: Readonly<Record<CspFilterName, (source: string) => boolean>> = {
  extensions: matcherOf(
    schemes(
      ...['chrome', 'chrome-extension', 'chromeinvokeimmediate', 'chromenull', 'jar', 'mbinit'],
      ...['moz-extension', 'ms-browser-extension', 'mxaddon-pkg', 'resource', 'safari-extension'],
      ...['safari-web-extension', 'symres', 'tmtbff', 'webkit-masked-url', 'webviewprogressproxy'],
    ),
  ),
  about: matcherOf(/^(?:about(?::|$)|data:text\/html,chromewebdata)/i),
  blob: matcherOf(schemes('blob')),
  'injected-scripts': (source) => {
    const host = hostOf(source)
    return INJECTING_HOSTS.some((known) =>
      known.startsWith('.') ? `.${host}`.endsWith(known) : host === known,
    )
  },
  localhost: (source) => hostOf(source) === 'localhost',
}

function matcherOf(pattern: RegExp): (source: string) => boolean {
  return (source) => pattern.test(source)
}

function hostOf(source: string): string {
  return URL.parse(source)?.hostname ?? ''
}

/** Returns `true` if a source, the blocked URL or the file that wanted to load it, is noise of this name. */
export function isCspNoise(name: CspFilterName, source: string): boolean {
  return MATCHERS[name](source)
}

/** Stand-in for `bundle.min.js` of Sentry's CDN, which no npm package contains: the same functions of the same version. */

export { forceLoad, init, onLoad, showReportDialog } from '@sentry/browser'
export * from '../../../../tunnel/sdk/api.ts'

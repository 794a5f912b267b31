/** Replaces `next/router` in browsers, where only the SDK's tracing imports it: no page here has navigations of the Pages Router. */

const router = { events: { on: () => {} } }

export default router

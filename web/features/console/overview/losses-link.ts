/** Page of the console that shows lost envelopes. */

import type { LossCounts } from 'contract/situation/losses'

/** Returns the page that shows most of these losses. */
export function linkTo(losses: LossCounts = { expired: 0, evicted: 0, unavailable: 0, vanished: 0 }): string {
  const { expired, evicted, unavailable, vanished } = losses
  const most = Math.max(expired, evicted, unavailable, vanished)
  if (most === unavailable) return '/console/rejections'
  if (most === evicted) return '/console/live-feed?outcome=evicted'
  return most === expired ? '/console/live-feed?outcome=expired' : '/console/spool'
}

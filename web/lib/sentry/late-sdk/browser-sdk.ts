/** SDK of the page, for code of the first load. */

import { LateSdk } from './late-sdk.ts'

export const browserSdk = new LateSdk(() => import('../browser.ts'))

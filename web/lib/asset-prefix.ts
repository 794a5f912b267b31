/** Prefix of the files of the build. All that web serves lies below `/console` and `/lab`, so that an app beside it keeps every other path. */
export const ASSET_PREFIX = '/console'

/** Errors of stored bodies. */

/** Error for a stored body that was cut: it must not be sent, since its server would be blamed. */
export class WrongSize extends Error {
  constructor(name: string, found: number, expected: number) {
    super(
      `${name} of a spool entry has ${found} instead of ${expected} bytes, and is not sent. Restore it from a backup, or purge the entry on the page Spool`,
    )
  }
}

/** Error of an entry that another replica has settled meanwhile. */
export class BodyGone extends Error {
  constructor() {
    super('its body is gone: another replica has settled it')
  }
}

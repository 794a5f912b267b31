/** Error of a stored body that cannot be read, although the store answers. */
export class UnreadableBody extends Error {}

/** Error for a stored body that was cut: it must not be sent, since its server would be blamed. */
export class WrongSize extends UnreadableBody {
  constructor(name: string, found: number, expected: number) {
    super(
      `${name} of a spool entry has ${found} instead of ${expected} bytes, and is not sent. Restore it from a backup, or purge the entry on the page Spool`,
    )
  }
}

/** Error of an entry that another replica has settled meanwhile. */
export class BodyGone extends UnreadableBody {
  constructor() {
    super('its body is gone: another replica has settled it')
  }
}

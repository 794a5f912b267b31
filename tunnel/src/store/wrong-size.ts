/** Error for a stored body that was cut: it must not be sent, since its server would be blamed. */
export class WrongSize extends Error {
  constructor(name: string, found: number, expected: number) {
    super(
      `${name} of a spool entry has ${found} instead of ${expected} bytes, and is not sent. Restore it from a backup, or purge the entry on the page Spool`,
    )
  }
}

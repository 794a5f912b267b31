/** Tables of the console's projects page, parsed from its HTML. */

const TABLE = /<table aria-label="Envelopes of (\S+) by category and outcome".*?<\/table>/gs
const ROW = /<th scope="row"[^>]*>([^<]*)<\/th>(.*?)<\/tr>/gs

/** Reads the number of envelopes that a table shows, by `project category outcome`. */
export function envelopesIn(html: string): Record<string, number> {
  const books: Record<string, number> = {}
  for (const [table, project] of html.replaceAll('<!-- -->', '').matchAll(TABLE)) {
    const outcomes = [...table.matchAll(/outcome=(\w+)/g)].map(([, outcome]) => outcome)
    for (const [, category, row = ''] of table.matchAll(ROW))
      for (const [index, cell] of row.split('<td').slice(1).entries()) {
        const [, count] = /^[^>]*>([\d,]+)</.exec(cell) ?? []
        if (count && category !== 'all')
          books[`${project} ${category === 'no category' ? 'none' : category} ${outcomes[index]}`] = Number(
            count.replaceAll(',', ''),
          )
      }
  }
  return books
}

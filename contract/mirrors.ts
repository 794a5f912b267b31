/** Mirrors: second destinations of the envelopes of a project, by `MIRROR_DSN`. */

import { type Dsn, formatDsn, isSameProject, parseDsn, withoutSecret } from './dsn.ts'

/** Envelopes of `source` also go to `target`. */
export type Mirror = { source: Dsn; target: Dsn }

const EXAMPLE = 'https://key@a.example/1->https://key@b.example/2'

/** Parses `MIRROR_DSN`: pairs of DSNs, separated by white space or commas. Appends problems to `problems`, without secrets. */
export function readMirrors(given: string, problems: string[]): Mirror[] {
  const texts = given
    .replace(/\s*->\s*/g, '->')
    .split(/[\s,]+/)
    .filter(Boolean)
  return texts.flatMap((text) => {
    const [from, to, ...more] = text.split('->')
    if (!from || !to || more.length > 0) {
      problems.push(`MIRROR_DSN: "${hide(text)}" is not a pair of DSNs; write ${EXAMPLE}`)
      return []
    }
    const [source, target] = [from, to].map((dsn) => {
      const parsed = parseDsn(dsn)
      if (!parsed)
        problems.push(
          `MIRROR_DSN: "${hide(dsn)}" is not a DSN; write it with its key, as its Sentry shows it, like ${EXAMPLE}`,
        )
      return parsed
    })
    return source && target ? [{ source, target }] : []
  })
}

export function formatMirror({ source, target }: Mirror): string {
  return `${formatDsn(source)}->${formatDsn(target)}`
}

/** Returns a problem for each mirror of a project that `SENTRY_DSN` does not list, for each that leads to one that it lists, and for each repeated one. */
export function findWrongMirrors(mirrors: readonly Mirror[], dsns: readonly Dsn[]): string[] {
  const listed = new Set(dsns.map(formatDsn))
  const seen = new Set<string>()
  return mirrors.flatMap((mirror) => {
    const { source, target } = mirror
    const text = formatMirror(mirror)
    const isRepeated = seen.has(text)
    seen.add(text)
    if (isRepeated) return [`MIRROR_DSN: "${text}" occurs twice; remove one of them`]
    if (!listed.has(formatDsn(source)))
      return [
        `MIRROR_DSN: "${formatDsn(source)}" is not in SENTRY_DSN; write the DSN of a project whose envelopes Culvert forwards before "->"`,
      ]
    if (isSameProject(source, target))
      return [`MIRROR_DSN: "${text}" leads to itself; write the DSN of another project after "->"`]
    if (dsns.some((dsn) => isSameProject(dsn, target)))
      return [
        `MIRROR_DSN: "${text}" leads to a project of SENTRY_DSN; write the DSN of another project after "->", or remove that one from SENTRY_DSN`,
      ]
    return []
  })
}

/** Hides the passwords of DSNs, as they had one until 2018. */
function hide(text: string): string {
  return text.split('->').map(withoutSecret).join('->')
}

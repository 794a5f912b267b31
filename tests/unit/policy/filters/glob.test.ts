/** Globs match as Relay's do. */

import { describe, expect, it } from 'vitest'
import { compileGlobs } from '../../../../tunnel/src/policy/filters/glob.ts'

const matches = (glob: string, text: string) => compileGlobs([glob])?.(text)

describe('A glob', () => {
  it.each([
    ['plain', 'plain'],
    ['Plain', 'pLAIN'],
    ['*', ''],
    ['*', 'any\nthing'],
    ['a*', 'a'],
    ['a*c', 'abbc'],
    ['*/health', 'GET /api/health'],
    ['a?c', 'abc'],
    ['a?c', 'a\nc'],
    ['[abc]x', 'bx'],
    ['[a-c]x', 'bx'],
    ['[!abc]x', 'dx'],
    ['{one,two}!', 'two!'],
    ['v{1,2}.*', 'v2.3.4'],
    ['{a*,b?}c', 'azzc'],
    ['\\*', '*'],
    ['\\{a\\}', '{a}'],
    ['a.b', 'a.b'],
    ['(a|b)+$^', '(a|b)+$^'],
    ['[_health', '[_health'],
    ['{half', '{half'],
    [
      '*Uncaught *: ChunkLoadError: Loading chunk *',
      'x Uncaught (in promise): ChunkLoadError: Loading chunk 7',
    ],
    ['**', 'anything'],
    ['ünï*', 'ÜNÏcode'],
    ['a?c', 'a💩c'],
    ['[!a]x', '💩x'],
    ['[💩-💫]x', '💪x'],
    ['ß', 'ẞ'],
    ['[]x', 'x'],
    ['[!]x', 'x'],
    ['[a-c-e]', 'd'],
    ['[a-]', '-'],
    ['[-a]', '-'],
    ['[\\]]x', ']x'],
    ['[a\\-c]x', '-x'],
    ['[{]', '{'],
    ['{a\\,b,c}', 'a,b'],
    ['{\\{,\\}}', '{'],
    ['{[,]x,b}', ',x'],
    ['{a,}', 'a'],
  ])('%j matches %j', (glob, text) => {
    expect(matches(glob, text)).toBe(true)
  })

  it.each([
    ['plain', 'plainly'],
    ['plain', 'so plain'],
    ['', 'x'],
    ['a?c', 'ac'],
    ['a?c', 'abbc'],
    ['[abc]x', 'dx'],
    ['[!abc]x', 'ax'],
    ['{one,two}', 'three'],
    ['{one,two}', 'one,two'],
    ['\\*', 'a'],
    ['a.b', 'axb'],
    ['[^a]', 'b'],
    ['[!a]', 'A'],
    ['[a-c-e]', '-'],
    ['[a\\-c]x', 'bx'],
    ['[a\\-c]x', '^x'],
    ['{a\\,b,c}', 'b'],
    ['{\\{,\\}}', '{}'],
    ['{a,}', ''],
    ['a*b*c', 'acb'],
    ['*ab*ab', 'cab'],
  ])('%j does not match %j', (glob, text) => {
    expect(matches(glob, text)).toBe(false)
  })

  it('matches when one of several patterns matches the whole text', () => {
    const globs = compileGlobs(['a*', '*z'])
    expect(['apple', 'fizz', 'middle'].map((text) => globs?.(text))).toEqual([true, true, false])
    expect(compileGlobs(['a', 'b'])?.('ab')).toBe(false)
  })

  it('with a range in the wrong order is an error', () => {
    expect(() => compileGlobs(['[z-a]'])).toThrow()
  })

  it('is not compiled from an empty list', () => {
    expect(compileGlobs([])).toBeUndefined()
  })

  it('matches adversarial texts without delay', { timeout: 2_000 }, () => {
    const glob = compileGlobs(['*Uncaught *: ChunkLoadError: Loading chunk *'])
    expect(glob?.('Uncaught '.repeat(100_000))).toBe(false)
    expect(compileGlobs([`*${'a*'.repeat(20)}b`])?.('a'.repeat(100_000))).toBe(false)
  })
})

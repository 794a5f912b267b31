/** Arguments of the doctor. */

import { describe, expect, it } from 'vitest'
import { readOptions, UsageError } from '../../../doctor/options.ts'

describe('readOptions', () => {
  it.each([
    [['https://shop.example'], [9090, 9091]],
    [['http://10.1.2.3:8080'], [9090, 9091]],
    [['http://127.0.0.1'], []],
    [['http://localhost:8080'], []],
    [['http://[::1]:8080'], []],
    [['http://127.0.0.1', '--closed', '9091'], [9091]],
  ])('of %j names the ports that must be closed: %j', async (args, closedPorts) => {
    expect(await readOptions(args, {})).toMatchObject({ closedPorts })
  })

  it.each([
    ['no site', [], /name one site/],
    ['a site with a path', ['https://site.example/monitoring'], /without a path/],
    ['an unknown flag', ['https://site.example', '--harder'], /harder/],
    [
      'a password without an admin port',
      ['https://site.example', '--password-file', 'x'],
      /neither npm start nor Compose runs a tunnel here/,
    ],
  ])('rejects %s', async (_, args, words) => {
    const reading = readOptions(args, {})
    await expect(reading).rejects.toThrow(UsageError)
    await expect(reading).rejects.toThrow(words)
  })
})

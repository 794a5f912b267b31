/** Memory options of plain processes: those of the images. */

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { TUNNEL_GC, TUNNEL_HEAP, TUNNEL_MALLOC, WEB_HEAP } from '../../../scripts/processes.ts'

it.each([
  ['Dockerfile.tunnel', TUNNEL_HEAP],
  ['Dockerfile.web', WEB_HEAP],
])('npm start gives its processes the heap of %s', (file, heap) => {
  const [, options] = /^ENV NODE_OPTIONS="(.*)"$/m.exec(readFileSync(file, 'utf8')) ?? []
  expect(heap).toEqual(options?.split(' '))
})

it('npm start collects garbage as often as the image', () => {
  expect(readFileSync('Dockerfile.tunnel', 'utf8')).toContain(
    `CMD ["node", "${TUNNEL_GC}", "tunnel/src/main.ts"]`,
  )
})

it('npm start gives the tunnel the options of glibc of the image', () => {
  const dockerfile = readFileSync('Dockerfile.tunnel', 'utf8')
  for (const [name, value] of Object.entries(TUNNEL_MALLOC)) expect(dockerfile).toContain(`${name}=${value}`)
})

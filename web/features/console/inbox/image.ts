/** Image type by the first bytes, whatever the declared type. SVG is excluded, since it can run scripts. */

const KINDS: { type: string; begins: (bytes: Buffer) => boolean }[] = [
  {
    type: 'image/png',
    begins: (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  },
  { type: 'image/jpeg', begins: (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  { type: 'image/gif', begins: (bytes) => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6)) },
  {
    type: 'image/webp',
    begins: (bytes) =>
      bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  },
]

export function imageType(bytes: Buffer): string | undefined {
  return KINDS.find(({ begins }) => begins(bytes))?.type
}

/** Button that loads the player and the replay: few who open an error watch it. */
'use client'

import { lazy, Suspense, useState } from 'react'
import { Button } from '../../../../ui/button.tsx'
import type { PlayerProps } from './replay-player.tsx'

const Player = lazy(async () => ({ default: (await import('./replay-player.tsx')).ReplayPlayer }))

export function ReplayLoader(props: PlayerProps) {
  const [isOpen, setOpen] = useState(false)
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Load the replay</Button>
  return (
    <Suspense
      fallback={
        <p role="status" className="text-note">
          Loading the player …
        </p>
      }
    >
      <Player {...props} />
    </Suspense>
  )
}

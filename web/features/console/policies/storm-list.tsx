/** Errors of which too many arrive now. */

import type { PolicyStatus, StormStatus } from 'contract/policies'
import { formatCount } from '../../../lib/format.ts'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { cutText, TEXT } from '../bounds.ts'

export function StormList({ storm }: { storm: PolicyStatus['storm'] }) {
  return (
    <Panel title="Storms now">
      {storm && storm.storms.length > 0 ? (
        <ul className="grid grid-cols-1 gap-3">
          {storm.storms.map((each) => (
            <Storm
              key={`${each.project} ${each.fingerprint}`}
              storm={each}
              isObserved={storm.mode === 'observe'}
            />
          ))}
        </ul>
      ) : (
        <Empty>
          {storm
            ? `No error has arrived more than ${formatCount(storm.limit)} times in the last minute: there is nothing to do.`
            : 'Storm protection is off: STORM_LIMIT is 0. To turn it on, set the identical errors a minute that may pass, for example STORM_LIMIT=100.'}
        </Empty>
      )}
    </Panel>
  )
}

function Storm({ storm, isObserved }: { storm: StormStatus; isObserved: boolean }) {
  const { title, project, seen, sent, since } = storm
  return (
    <li className="min-w-0 border-t border-line pt-2 text-note tabular-nums first:border-t-0 first:pt-0">
      <p className="font-semibold wrap-anywhere">{cutText(title, TEXT.name)}</p>
      <p>
        ×{formatCount(seen)}, {formatCount(sent)} {isObserved ? 'would have been sent' : 'sent'}
      </p>
      <p className="text-quiet wrap-anywhere">
        {project}, began <Ago time={since} />
      </p>
    </li>
  )
}

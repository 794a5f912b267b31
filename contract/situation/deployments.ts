/** Ways in which Culvert is started. They decide which file and which commands a remedy names. */

export const DEPLOYMENTS = ['plain', 'compose', 'chart'] as const
export type Deployment = (typeof DEPLOYMENTS)[number]

/** Place of settings and of secrets, command that applies them, and command that shows whether the tunnels run. */
type Commands = { settings: string; secrets: string; apply: string; inspect: string }

const COMMANDS: Record<Deployment, Commands> = {
  plain: {
    ...{ settings: '.env', secrets: '.env', apply: 'start Culvert again with npm start' },
    inspect: 'read the output of npm start',
  },
  compose: {
    ...{ settings: '.env', secrets: '.env', apply: 'run npm run deploy' },
    inspect: 'run docker compose ps tunnel, then docker compose logs tunnel',
  },
  chart: {
    settings: 'settings of the values of the chart',
    secrets: 'secrets of the values of the chart, or into its existingSecret',
    apply: 'run helm upgrade',
    inspect:
      'run kubectl get pods --selector app.kubernetes.io/component=tunnel in the namespace of Culvert, and read their logs',
  },
}

/** Commands while it is unknown how the tunnels were started. */
const UNKNOWN: Commands = {
  ...COMMANDS.compose,
  inspect: `${COMMANDS.compose.inspect}; on Kubernetes, ${COMMANDS.chart.inspect}`,
}

export function commandsOf(deployment: Deployment | undefined): Commands {
  return deployment ? COMMANDS[deployment] : UNKNOWN
}

/** Check of the settings of all processes, for a start of containers: each of them would start again and again with a wrong setting. */

import { CHOSEN_NAMES, type Environment, SETTING_NAMES } from 'contract/settings'
import { SettingsReader } from 'contract/settings-reader'
import { BadSettings, readConfig } from './config.ts'

/** Returns a sentence for each problem, each once: some settings concern several processes. */
export function checkAllSettings(given: Environment): string[] {
  // A .env may also hold variables of other programs, such as PORT.
  const isChosen = (name: string) => CHOSEN_NAMES.some((chosen) => chosen === name)
  const env = Object.fromEntries(Object.entries(given).filter(([name]) => !isChosen(name)))
  const problems: string[] = []
  const settings = new SettingsReader(env, problems)
  for (const name of SETTING_NAMES) settings.read(name)
  try {
    readConfig(env)
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error
    problems.push(...error.problems)
  }
  return [...new Set(problems)]
}

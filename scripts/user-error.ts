/** A reason not to go on that the person at the keyboard can do something about: shown as a sentence, without a stack. */

export class UserError extends Error {
  /** What a process said before, worth reading; empty when the sentence says it all. */
  readonly output: string

  constructor(sentence: string, output = '') {
    super(sentence)
    this.output = output
  }
}

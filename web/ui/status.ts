/** How something stands, in the few ways that pages tell apart. */

/** `good`: done as wanted. `wait`: kept, more to come. `hold`: held back. `drop`: left out on purpose. `bad`: did not work. */
export type State = 'idle' | 'busy' | 'good' | 'wait' | 'hold' | 'drop' | 'bad'

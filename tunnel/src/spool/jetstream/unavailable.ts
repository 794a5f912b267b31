/** Why a spool on NATS cannot be opened yet: no server answers, and one may come. */
export class NatsAway extends Error {}

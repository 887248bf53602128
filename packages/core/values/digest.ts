/**
 * Returns a short collision-free digest that is safe in a key. If `taskId` is given and that task's content is
 * sealed, the digest is keyed.
 */
export type Digest = (text: string, taskId?: string) => string;

/** Where the replica of a world lies. */
export const SCHEMA = 'world';

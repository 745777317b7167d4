import { testShortWorlds } from './short-worlds.ts';

testShortWorlds(2);

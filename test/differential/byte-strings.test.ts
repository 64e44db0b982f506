/** The families whose values are byte strings, compared with redis-server: about as much work as all others. */
import { byteStringFamilies } from "./families.ts";
import { testFamilies } from "./family-tests.ts";

testFamilies(byteStringFamilies);

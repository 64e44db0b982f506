/** The families whose values are byte strings, beside redis-server: about as much work as all the others. */
import { byteStringFamilies } from "./families.ts";
import { testFamilies } from "./family-tests.ts";

testFamilies(byteStringFamilies);

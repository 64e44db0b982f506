/** The families of collections, of keys and of the server, beside redis-server. */
import { collectionFamilies } from "./families.ts";
import { testFamilies } from "./family-tests.ts";

testFamilies(collectionFamilies);

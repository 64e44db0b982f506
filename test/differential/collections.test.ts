/** The families of collections, of keys and of the server, compared with redis-server. */
import { collectionFamilies } from "./families.ts";
import { testFamilies } from "./family-tests.ts";

testFamilies(collectionFamilies);

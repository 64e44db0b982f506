/**
 * Removes `Object.prototype.__proto__` in this thread, so that no assignment to
 * a key from a client can change a prototype (threats.md A-11). The start file
 * does it for the main thread; each worker has its own prototype.
 */
Reflect.deleteProperty(Object.prototype, "__proto__");

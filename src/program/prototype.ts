/**
 * Removes `Object.prototype.__proto__` in this thread, so that no assignment to
 * a key that a caller chose can change a prototype (threats.md A-11). The start
 * file does it for the main thread; a worker has a prototype of its own.
 */
Reflect.deleteProperty(Object.prototype, "__proto__");

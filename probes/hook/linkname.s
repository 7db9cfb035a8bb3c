// An assembly file, on every architecture, lets the package declare functions
// without bodies, which the linker finds in the runtime.

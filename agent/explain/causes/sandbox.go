package causes

// sandboxChecks are the checks of table/sandbox.yaml.
var sandboxChecks []check

package causes

// startChecks are the checks of table/start.yaml.
var startChecks []check

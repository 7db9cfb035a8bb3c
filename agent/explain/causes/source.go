package causes

// sourceChecks are the checks of table/source.yaml.
var sourceChecks []check

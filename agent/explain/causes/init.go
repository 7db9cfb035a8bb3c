package causes

// initChecks are the checks of table/init.yaml.
var initChecks []check

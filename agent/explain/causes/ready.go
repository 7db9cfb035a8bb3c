package causes

// readyChecks are the checks of table/ready.yaml.
var readyChecks []check

package causes

// volumesChecks are the checks of table/volumes.yaml.
var volumesChecks []check

package preset

import (
	"slices"

	"github.com/sandrone-gateway/sandrone/processors/region"
)

// Region is a country that groups are made for, and how its nodes are found by
// name.
type Region struct {
	ID        string `json:"id"`
	Name      Text   `json:"name"` // groups have the English one
	DefaultOn bool   `json:"default_on"`
	Pattern   string `json:"pattern"` // RE2
	Exclude   string `json:"exclude"` // RE2; empty for nothing
}

// usualRegions are offered as chosen.
var usualRegions = []string{"hk", "tw", "jp", "us", "sg"}

func regions() []Region {
	var list []Region
	for _, r := range region.Default().Regions() {
		if !r.Popular {
			continue
		}
		include, exclude := r.Patterns()
		list = append(list, Region{
			ID: r.ID, Name: Text{r.English, r.Chinese}, DefaultOn: slices.Contains(usualRegions, r.ID),
			Pattern: include, Exclude: exclude,
		})
	}
	return list
}

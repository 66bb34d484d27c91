package preset

import "strings"

// mode says which members the group of a module has.
type mode int

const (
	selectMode  mode = iota // the anchor: everything; others: the anchor first
	directFirst             // what is better reached without a proxy
	rejectFirst             // what is better not reached
	testMode                // the fastest node
)

// module is a group and the rule sets that lead to it. The ids of rule sets are
// names of the catalogue; what ends in "-ip" is a set of addresses.
type module struct {
	id   string
	name Text
	mode mode
	sets []string
}

// The modules that others refer to.
const (
	anchorModule = "select"
	autoModule   = "auto"
	finalModule  = "final"
	adModule     = "ad"
	cnModule     = "cn"
)

// modules are all of them, in the order of their groups.
var modules = []module{
	{anchorModule, Text{"Proxy", "选择节点"}, selectMode, nil},
	{autoModule, Text{"Auto", "自动选优"}, testMode, nil},
	{adModule, Text{"Ad Block", "广告拦截"}, rejectFirst, []string{"category-ads-all"}},
	{"ai", Text{"AI", "AI 服务"}, selectMode, []string{"openai", "anthropic", "category-ai-chat-!cn"}},
	{"youtube", Text{"YouTube", "YouTube"}, selectMode, []string{"youtube"}},
	{"google", Text{"Google", "Google"}, selectMode, []string{"google", "google-ip"}},
	{"microsoft", Text{"Microsoft", "Microsoft"}, directFirst, []string{"onedrive", "microsoft"}},
	{"apple", Text{"Apple", "Apple"}, directFirst, []string{"icloud", "apple"}},
	{"telegram", Text{"Telegram", "Telegram"}, selectMode, []string{"telegram", "telegram-ip"}},
	{"twitter", Text{"Twitter / X", "Twitter / X"}, selectMode, []string{"twitter", "twitter-ip"}},
	{"meta", Text{"Meta", "Meta"}, selectMode, []string{"facebook", "instagram", "whatsapp", "facebook-ip"}},
	{"discord", Text{"Discord", "Discord"}, selectMode, []string{"discord"}},
	{"social-other", Text{"Other Social", "其他社交"}, selectMode, []string{"tiktok", "line", "reddit", "linkedin", "snap", "pinterest", "tumblr"}},
	{"netflix", Text{"Netflix", "Netflix"}, selectMode, []string{"netflix", "netflix-ip"}},
	{"disney", Text{"Disney+", "Disney+"}, selectMode, []string{"disney"}},
	{"streaming-west", Text{"Western Streaming", "欧美流媒体"}, selectMode, []string{"hbo", "hulu", "primevideo", "apple-tvplus", "spotify", "twitch", "dazn"}},
	{"streaming-asia", Text{"Asian Streaming", "亚洲流媒体"}, selectMode, []string{"bahamut", "biliintl", "niconico", "abema", "viu", "kktv"}},
	{"bilibili", Text{"Bilibili", "哔哩哔哩"}, directFirst, []string{"bilibili"}},
	{"steam", Text{"Steam", "Steam"}, selectMode, []string{"steam"}},
	{"gaming-pc", Text{"PC Gaming", "电脑游戏"}, selectMode, []string{"epicgames", "ea", "ubisoft", "blizzard", "gog", "riot"}},
	{"gaming-console", Text{"Console Gaming", "主机游戏"}, selectMode, []string{"playstation", "xbox", "nintendo"}},
	{"github", Text{"Code Hosting", "代码托管"}, selectMode, []string{"github", "gitlab", "atlassian"}},
	{"cloud", Text{"Cloud Services", "云服务"}, selectMode, []string{"aws", "azure", "cloudflare", "digitalocean", "vercel", "netlify", "cloudflare-ip"}},
	{"dev-tools", Text{"Developer Tools", "开发工具"}, selectMode, []string{"docker", "npmjs", "jetbrains", "stackexchange"}},
	{"storage", Text{"Cloud Storage", "云端存储"}, selectMode, []string{"dropbox", "notion"}},
	{"payment", Text{"Payments", "支付"}, selectMode, []string{"paypal", "stripe", "wise"}},
	{"crypto", Text{"Cryptocurrency", "加密货币"}, selectMode, []string{"binance"}},
	{"education", Text{"Education", "教育"}, selectMode, []string{"category-scholar-!cn", "coursera", "udemy", "edx", "khanacademy", "wikimedia"}},
	{"news", Text{"News", "新闻"}, selectMode, []string{"bbc", "cnn", "nytimes", "wsj", "bloomberg"}},
	{"shopping", Text{"Shopping", "购物"}, selectMode, []string{"amazon", "ebay"}},
	{"private", Text{"Private", "私有网络"}, directFirst, []string{"private", "private-ip"}},
	{cnModule, Text{"China", "国内"}, directFirst, []string{"cn", "cn-ip"}},
	{"global", Text{"Global", "国外"}, selectMode, []string{"geolocation-!cn"}},
	{finalModule, Text{"Final", "其余流量"}, selectMode, nil},
}

// ruleOrder is the order of rules by module, in which the special comes before
// the general: xbox before microsoft, apple-tvplus before apple, hulu before
// disney, npm before github. dohSet is no module: encrypted DNS goes the way of
// the anchor.
var ruleOrder = strings.Fields(`
	ad private ` + dohSet + ` ai youtube education cloud dev-tools google telegram
	github gaming-console microsoft streaming-west apple twitter meta discord
	social-other netflix disney streaming-asia bilibili steam gaming-pc storage
	payment crypto news shopping cn global`)

const dohSet = "category-doh"

// templates are the modules of each template, smallest first; nil stands for
// all.
var templates = []struct {
	id      string
	modules []string
}{
	{"minimal", strings.Fields("select auto ad private cn global final")},
	{"standard", strings.Fields("select auto ad private cn global final ai youtube google microsoft apple netflix telegram")},
	{"full", nil},
}

// shadowrocketLists are the rule sets for which Shadowrocket has a list of its
// own, by id: those whose name in the catalogue is the id but for letter case
// and hyphens, and some that go by another name.
var shadowrocketLists = map[string]string{
	"abema":         "Abema",
	"amazon":        "Amazon",
	"anthropic":     "Anthropic",
	"apple":         "Apple",
	"apple-tvplus":  "AppleTV",
	"atlassian":     "Atlassian",
	"bahamut":       "Bahamut",
	"bbc":           "BBC",
	"bilibili":      "BiliBili",
	"biliintl":      "BiliBiliIntl",
	"binance":       "Binance",
	"blizzard":      "Blizzard",
	"bloomberg":     "Bloomberg",
	"cloudflare":    "Cloudflare",
	"cnn":           "CNN",
	"dazn":          "DAZN",
	"digitalocean":  "DigitalOcean",
	"discord":       "Discord",
	"disney":        "Disney",
	"docker":        "Docker",
	"dropbox":       "Dropbox",
	"ea":            "EA",
	"ebay":          "eBay",
	"epicgames":     "Epic",
	"facebook":      "Facebook",
	"github":        "GitHub",
	"gitlab":        "GitLab",
	"gog":           "Gog",
	"google":        "Google",
	"hbo":           "HBO",
	"hulu":          "Hulu",
	"icloud":        "iCloud",
	"instagram":     "Instagram",
	"jetbrains":     "Jetbrains",
	"kktv":          "KKTV",
	"line":          "Line",
	"linkedin":      "LinkedIn",
	"microsoft":     "Microsoft",
	"netflix":       "Netflix",
	"niconico":      "Niconico",
	"nintendo":      "Nintendo",
	"notion":        "Notion",
	"npmjs":         "Npmjs",
	"nytimes":       "NYTimes",
	"onedrive":      "OneDrive",
	"openai":        "OpenAI",
	"paypal":        "PayPal",
	"pinterest":     "Pinterest",
	"playstation":   "PlayStation",
	"primevideo":    "PrimeVideo",
	"private":       "Lan",
	"reddit":        "Reddit",
	"riot":          "Riot",
	"snap":          "Snap",
	"spotify":       "Spotify",
	"stackexchange": "Stackexchange",
	"steam":         "Steam",
	"stripe":        "Stripe",
	"telegram":      "Telegram",
	"tiktok":        "TikTok",
	"tumblr":        "Tumblr",
	"twitch":        "Twitch",
	"twitter":       "Twitter",
	"ubisoft":       "Ubisoft",
	"vercel":        "Vercel",
	"whatsapp":      "Whatsapp",
	"wikimedia":     "Wikimedia",
	"xbox":          "Xbox",
	"youtube":       "YouTube",
}

// shadowrocketDomainLists are the second lists of those that the collection has
// split in two, neither of which is complete alone.
var shadowrocketDomainLists = map[string]string{"apple": "Apple_Domain"}

package region

// popular are the regions that groups are made for, in their order. Terms may
// stand anywhere in a name; codes are tokens in any letter case; a text of
// exclude says that the name means another place.
var popular = []struct{ id, code, terms, codes, exclude string }{
	{"hk", "HK", "香港|Hong Kong|HongKong", "HK HKG", ""},
	{"tw", "TW", "台湾|臺灣|台北|Taipei|Taiwan", "TW TWN TPE", ""},
	{"sg", "SG", "新加坡|狮城|Singapore", "SG SGP SIN", ""},
	{"jp", "JP", "日本|东京|東京|大阪|Japan|Tokyo|Osaka", "JP JPN NRT HND KIX", ""},
	{"kr", "KR", "韩国|韓國|首尔|首爾|Korea|Seoul", "KR KOR ICN", ""},
	{"us", "US", "美国|美國|United States|America|洛杉矶|洛杉磯|纽约|紐約|西雅图|西雅圖|硅谷", "US USA LAX SFO SJC SEA NYC JFK EWR IAD ATL ORD MIA DFW", "美属 美屬 亚美尼亚 亞美尼亞 圣多美 聖多美"},
	{"ca", "CA", "加拿大|Canada|多伦多|多倫多|温哥华|溫哥華|蒙特利尔|蒙特利爾", "CA CAN YYZ YVR YUL", ""},
	{"uk", "GB", "英国|英國|United Kingdom|Britain|England|伦敦|倫敦|Manchester", "UK GB GBR LHR MAN", ""},
	{"de", "DE", "德国|德國|Germany|柏林|法兰克福|法蘭克福|慕尼黑", "DE DEU BER MUC", "瓜德罗普 瓜德羅普"},
	{"fr", "FR", "法国|法國|France|巴黎|马赛|馬賽", "FR FRA CDG MRS", "法属 法屬 布基纳法索 布基納法索 法罗 法羅"},
	{"mo", "MO", "澳门|澳門|Macau|Macao", "MO MAC", ""},
	{"au", "AU", "澳大利亚|澳大利亞|澳洲|Australia|悉尼|Sydney", "AU AUS SYD MEL", ""},
	{"ru", "RU", "俄罗斯|俄羅斯|Russia|莫斯科|Moscow", "RU RUS SVO", "白俄罗斯 白俄羅斯"},
	{"th", "TH", "泰国|泰國|Thailand|曼谷|Bangkok", "TH THA BKK", ""},
	{"in", "IN", "印度|India|孟买|孟買|Mumbai", "IN IND BOM DEL", "印度洋"},
	{"my", "MY", "马来西亚|馬來西亞|马来|馬來|Malaysia|吉隆坡|Kuala Lumpur", "MY MYS KUL", ""},
	{"ph", "PH", "菲律宾|菲律賓|Philippines|马尼拉|馬尼拉|Manila", "PH PHL MNL", ""},
	{"tr", "TR", "土耳其|Turkey|Türkiye|伊斯坦布尔|伊斯坦布爾|Istanbul", "TR TUR IST", ""},
	{"ua", "UA", "乌克兰|烏克蘭|Ukraine|基辅|基輔|Kyiv|Kiev", "UA UKR KBP", ""},
	{"fi", "FI", "芬兰|芬蘭|Finland|赫尔辛基|赫爾辛基|Helsinki", "FI FIN HEL", ""},
	{"ar", "AR", "阿根廷|Argentina|布宜诺斯艾利斯|布宜諾斯艾利斯|Buenos Aires", "AR ARG EZE", ""},
	{"eg", "EG", "埃及|Egypt|开罗|開羅|Cairo", "EG EGY CAI", ""},
}

// common are further names that providers use, in detection only: other
// spellings, and cities that mean one country. Cities of mainland China are
// left out, since a name like 上海-香港 tells where a line begins.
var common = map[string]string{
	"hk": "中国香港|中國香港|九龙|九龍|Kowloon",
	"tw": "中国台湾|中國台灣|新北|台中|高雄|桃园|彰化|Taichung|Kaohsiung",
	"mo": "中国澳门|中國澳門",
	"jp": "埼玉|名古屋|福冈|福岡|Saitama|Nagoya|Fukuoka",
	"kr": "釜山|仁川|春川|Busan|Incheon",
	"us": "旧金山|舊金山|圣何塞|聖何塞|圣克拉拉|芝加哥|达拉斯|達拉斯|迈阿密|邁阿密|波特兰|凤凰城|拉斯维加斯|亚特兰大|华盛顿|华盛頓|弗吉尼亚|俄勒冈|Los Angeles|New York|Seattle|San Jose|San Francisco|Santa Clara|Silicon Valley|Chicago|Dallas|Miami|Phoenix|Portland|Las Vegas|Ashburn|Fremont|Atlanta|Washington",
	"ca": "Toronto|Vancouver|Montreal|Montréal",
	"uk": "曼彻斯特|Great Britain|London|Scotland|Northern Ireland",
	"de": "杜塞尔多夫|纽伦堡|Frankfurt|Berlin|Munich|Düsseldorf|Nuremberg",
	"fr": "Paris|Marseille",
	"au": "墨尔本|墨爾本|布里斯班|珀斯|Melbourne|Brisbane|Perth",
	"ru": "圣彼得堡|聖彼得堡|新西伯利亚|伯力|Saint Petersburg|St. Petersburg|Novosibirsk|Khabarovsk",
	"in": "新德里|班加罗尔|Bangalore|New Delhi",
	"tr": "安卡拉|Ankara|Turkiye",
	"ae": "阿联酋|阿聯酋|迪拜|杜拜|阿布扎比|Emirates|UAE|Dubai|Abu Dhabi",
	"at": "维也纳|維也納|Vienna",
	"ax": "Aland Islands",
	"ba": "波黑|Bosnia and Herzegovina|Bosnia & Herzegovina",
	"be": "布鲁塞尔|布魯塞爾|Brussels",
	"bg": "索非亚|Sofia",
	"br": "圣保罗|聖保羅|Sao Paulo|São Paulo|Brasil",
	"cd": "DR Congo|Democratic Republic of the Congo|Kinshasa",
	"cg": "Republic of the Congo|Brazzaville",
	"ch": "苏黎世|蘇黎世|Zurich|Zürich|Geneva",
	"ci": "Ivory Coast|Cote d'Ivoire|Côte d'Ivoire",
	"cl": "Santiago",
	"co": "波哥大|Bogota|Bogotá",
	"cw": "Curacao",
	"cz": "布拉格|Czech Republic|Czech|Prague",
	"dk": "哥本哈根|Copenhagen",
	"es": "马德里|馬德里|巴塞罗那|Madrid|Barcelona",
	"gr": "雅典|Athens",
	"hu": "布达佩斯|Budapest",
	"id": "印尼|雅加达|雅加達|Jakarta",
	"ie": "都柏林|Dublin",
	"il": "特拉维夫|Tel Aviv",
	"it": "米兰|米蘭|Milan|Milano|Rome",
	"ke": "内罗毕|Nairobi",
	"kh": "金边|Phnom Penh",
	"kp": "北朝鲜|DPRK",
	"kz": "阿拉木图|Almaty",
	"la": "老撾",
	"mk": "Macedonia",
	"mm": "Burma",
	"mx": "Mexico City",
	"ng": "Lagos",
	"nl": "阿姆斯特丹|Amsterdam|Holland",
	"no": "奥斯陆|奧斯陸|Oslo",
	"nz": "Auckland",
	"pe": "Lima",
	"pk": "卡拉奇|Karachi",
	"pl": "华沙|華沙|Warsaw",
	"pt": "里斯本|Lisbon",
	"re": "Reunion",
	"ro": "布加勒斯特|Bucharest",
	"sa": "沙特|沙烏地|Riyadh",
	"se": "斯德哥尔摩|斯德哥爾摩|Stockholm",
	"st": "Sao Tome and Principe|Sao Tome",
	"sz": "Swaziland",
	"tl": "East Timor",
	"tz": "坦桑尼亞",
	"va": "Vatican",
	"vi": "US Virgin Islands",
	"vn": "河内|河內|胡志明|Viet Nam|Hanoi|Ho Chi Minh",
	"za": "约翰内斯堡|Johannesburg",
}

// wordCodes are codes of popular regions that are English words too, and so
// count in upper case only. Those of other countries always do.
var wordCodes = set("IN", "MY", "CAN", "MAN", "SIN", "SEA", "MAC", "IST", "DEL")

// protocolWords are codes of countries that in a node's name mean a protocol
// or a transport.
var protocolWords = set("SS", "WS", "AI", "TV")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

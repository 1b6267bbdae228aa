/**
 * Narrower words after the colon, the broader words they call for before it: who asks about a pizza is
 * served by a tool for recipes or restaurants.
 */
export const BROADER_WORDS = `
food meal recipe restaurant : pizza burger sandwich sushi pasta noodle rice bread cake cookie dessert salad soup steak chicken beef pork fish seafood vegetable fruit cheese chocolate breakfast lunch dinner brunch snack vegan vegetarian taco curry barbecue egg potato tomato menu chef kitchen bake
drink : coffee tea beer wine whiskey juice smoothie cocktail vodka soda
grocery : milk egg vegetable fruit supermarket
animal pet : dog cat puppy kitten horse bird fish rabbit cow wildlife breed species veterinarian
sport : football soccer basketball baseball tennis golf hockey cricket rugby volleyball swimming cycling boxing wrestling nba nfl nhl mlb fifa olympics athlete race marathon
fitness workout : yoga pilates cardio muscle squat jogging gym calorie bodyweight dumbbell
game : chess poker blackjack minecraft fortnite pokemon nintendo xbox playstation trivia quiz sudoku esport roleplay rpg dungeon
music song : guitar piano violin drum chord melody lyric singer band rapper jazz rock hiphop concert spotify soundtrack
movie film : actor actress director hollywood netflix imdb cinema theater trailer screenplay documentary
video : youtube tiktok vimeo streaming clip subtitle
audio : podcast microphone recording
image : png jpg jpeg gif svg photo portrait thumbnail wallpaper icon emoji meme
document : pdf docx doc word txt markdown letter contract
spreadsheet : excel xlsx csv sheet
presentation : powerpoint pptx ppt slide keynote
book : novel fiction poem poetry literature author chapter library isbn
news : headline journalist newspaper bbc cnn reuters politics
weather : rain snow storm humidity wind sunny cloudy temperature hurricane thunderstorm umbrella uv
disaster : earthquake hurricane flood tornado tsunami wildfire volcano
travel trip : hotel flight vacation holiday tourist tourism sightseeing beach cruise backpack visa passport itinerary airport resort destination attraction landmark
flight : airline airport airplane departure arrival layover
hotel : airbnb hostel motel resort checkin suite
transport : bus train subway metro tram ferry taxi bike commute
car vehicle : toyota ford tesla honda bmw engine tire mileage dealership sedan suv truck motorcycle electric ev fuel
house property : apartment condo bedroom mortgage landlord tenant realtor villa
job career : salary hire hiring recruiter resume linkedin employer freelancer internship
stock market finance : nasdaq dow dividend ipo shareholder nyse ticker etf earnings trading
crypto : bitcoin ethereum btc eth nft defi blockchain wallet solana dogecoin
currency : dollar euro pound yen yuan rupee usd eur gbp jpy cny peso franc
loan credit : mortgage debt lender borrower refinance
tax : irs deduction vat refund withholding
company business : startup competitor enterprise ceo revenue industry
law legal : lawyer attorney court lawsuit contract copyright patent trademark judge litigation plaintiff defendant constitution
crime : theft murder robbery fraud burglary
health medical : hospital doctor patient symptom diagnosis disease cancer diabetes covid flu vaccine surgery allergy therapy therapist clinic nurse dentist pregnancy pain headache fever bmi blood anxiety depression
medicine : aspirin antibiotic pill prescription dosage pharmacy
education learning : school university college student teacher homework tutor course lecture curriculum scholarship degree exam kid child
math calculation : algebra calculus geometry integral derivative equation logarithm sine cosine tangent matrix polynomial fraction quadratic factorial prime arithmetic addition subtraction multiplication division percentage
shape geometry : triangle circle rectangle square sphere cylinder cube polygon
statistics : mean median variance regression correlation percentile hypothesis deviation
physics : gravity acceleration velocity momentum friction voltage magnetic electric kinetic quantum
chemistry : molecule atom reaction compound element acid molar
biology : cell gene dna protein enzyme bacteria evolution species
space astronomy : planet mars moon star galaxy telescope nasa rocket satellite asteroid
research paper : arxiv pubmed journal citation scholar academic thesis literature
religion : bible quran prayer christian muslim islam buddhist hindu church verse scripture jesus
language : english spanish french german chinese japanese korean italian russian portuguese arabic hindi grammar vocabulary pronunciation
translate : english spanish french german chinese japanese korean italian russian
code programming : python javascript typescript java rust golang php ruby html css react algorithm developer compiler debugging snippet
repository : github gitlab bitbucket git
database : mysql postgres postgresql sqlite mongodb redis sql oracle
cloud server : aws azure gcp lambda terraform
container : docker kubernetes podman
browser : chrome firefox safari puppeteer playwright selenium
website : wordpress homepage landing shopify domain
search web : google bing duckduckgo wikipedia
social media : twitter facebook instagram tiktok linkedin reddit snapchat youtube hashtag follower influencer
message : slack discord whatsapp telegram teams sms
email : gmail outlook inbox newsletter spam
calendar event : meeting appointment birthday anniversary wedding conference deadline monday tuesday wednesday thursday friday saturday sunday
task : todo reminder deadline checklist jira trello asana linear
note : notion obsidian evernote
map location : street avenue neighborhood address zip landmark
shopping product : amazon ebay walmart shoe clothes laptop phone gift brand furniture
fashion clothes : dress shoe shirt jacket jeans outfit jewelry makeup cosmetics skincare perfume
design : figma canva photoshop logo banner poster typography color
art : painting sculpture artist drawing museum gallery sketch illustration
model ai : gpt claude llama gemini chatbot llm neural
marketing advertising : campaign audience brand conversion seo ad slogan copywriting
sales : lead prospect crm pipeline customer
customer support : complaint ticket helpdesk
security : malware virus phishing firewall hacker exploit cve password
device : phone laptop computer tablet iphone android tv camera
energy : solar electricity battery power emission carbon
environment : climate pollution carbon emission recycling
government politics : president congress senate election parliament minister bill vote
country : usa france germany china japan india canada uk brazil italy spain mexico australia
city : paris london tokyo beijing berlin chicago boston seattle
date : monday tuesday january february april june july august september october november december birthday week month year
time : hour minute second timezone clock utc
unit measurement : meter kilometer mile foot inch celsius fahrenheit kilogram pound liter gallon
relationship : dating marriage wedding girlfriend boyfriend partner
personality : mbti introvert extrovert
child : kid baby toddler parent
plant : flower tree garden seed
event : concert festival show exhibition theater broadway
ticket : concert theater train flight movie
delivery : package parcel courier fedex ups tracking
insurance : premium claim coverage`;

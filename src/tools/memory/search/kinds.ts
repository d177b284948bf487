import { termOf } from "./normalise.ts";

/**
 * Kinds and things of that kind: who asks about pets is told about a dog. One way only, a dog is not just any pet.
 * Everyday English, ours, written by hand; other languages are untouched by it.
 */
const KINDS = `pet animal: dog puppy cat kitten hamster rabbit bunny guinea turtle tortoise snake parrot bird fish goldfish lizard gecko horse pony ferret
animal wildlife: bear deer fox wolf elephant lion tiger giraffe whale dolphin shark seal owl eagle duck goose swan frog bee butterfly cow sheep goat pig chicken monkey penguin zoo dinosaur
activity hobby pastime interest leisure: hike camp swim paint pottery draw photography garden cook bake read knit crochet sew dance yoga run cycle fish climb surf ski skate kayak chess puzzle museum concert picnic
sport: soccer football basketball baseball tennis hockey golf volleyball rugby cricket swim run marathon cycle ski snowboard surf climb box wrestle gymnastics badminton skate karate archery rowing sail fence judo softball lacrosse bowling handball squash triathlon dive
martial fight: karate judo taekwondo kickboxing boxing jiujitsu aikido kungfu fencing wrestle
exercise workout fitness: yoga run jog gym weight lift pilates cardio cycle swim aerobics stretch treadmill squat marathon hike spin zumba
outdoor nature: hike camp trail mountain lake forest river beach park kayak canoe climb fish picnic garden waterfall sunset
family relative: mom dad parent brother sister sibling son daughter child kid husband wife grandma grandpa aunt uncle cousin niece nephew mother father grandmother grandfather grandparent grandchild twin stepmother stepfather inlaw fiance
child kid: son daughter baby toddler teenager boy girl
relationship status: single married divorced dating engaged boyfriend girlfriend husband wife partner breakup
dessert sweet treat: cake pie cookie ice cream brownie cupcake muffin tart pudding cobbler chocolate candy donut pastry cheesecake
food snack dish meal cuisine: pizza pasta soup salad sandwich burger taco sushi curry rice noodle bread steak chicken fish salmon vegetable fruit stew lasagna pancake cake roast egg bacon sausage cheese yogurt cereal oatmeal ramen dumpling kebab falafel hummus paella risotto barbecue turkey ham shrimp lobster tofu avocado waffle popcorn chip
drink beverage: coffee tea juice wine beer cocktail smoothie water soda lemonade latte
fruit: apple banana orange strawberry blueberry raspberry grape mango peach pear cherry lemon melon pineapple
vegetable: tomato carrot potato onion lettuce spinach broccoli pepper cucumber corn bean pea
instrument: guitar piano violin drum flute clarinet cello bass trumpet saxophone ukulele keyboard harp banjo harmonica oboe trombone viola accordion organ synth drummer pianist guitarist
music genre: rock jazz pop classical hip hop rap folk country blues metal electronic reggae punk
art craft: paint draw sculpture pottery sketch photography clay canvas mural quilt origami collage watercolor
book: novel author series chapter memoir fantasy thriller biography
movie film: thriller comedy horror drama romance documentary trilogy sequel
game: chess poker console xbox playstation nintendo rpg multiplayer puzzle strategy scrabble monopoly
vehicle transport: car truck bike bicycle motorcycle bus train van boat plane scooter suv jeep minivan tractor taxi tram subway ferry yacht helicopter
clothes item wear: shirt dress shoe jacket coat hat hoodie jeans pants sweater sock scarf boot sneaker necklace ring skirt suit tie jersey uniform belt glove glasses sandal heel gown costume kimono
item gift object purchase: shoe figurine necklace ring watch book toy doll lamp mug bowl blanket bag phone camera bracelet
jewelry: necklace ring bracelet earring pendant
furniture: table chair sofa couch desk bed shelf lamp bookcase
job career profession occupation: teacher engineer nurse doctor lawyer manager banker writer designer developer programmer accountant chef counselor artist actor consultant intern architect scientist researcher journalist editor photographer musician pilot police officer firefighter electrician plumber carpenter mechanic waiter barista cashier receptionist secretary librarian pharmacist dentist surgeon therapist psychologist analyst salesman realtor farmer baker tailor driver director producer freelance
education degree study: college university major graduate diploma certificate bachelor master phd course class
health condition illness medical: asthma allergy diabetes cancer flu cold fever pain surgery hospital injury anxiety depression migraine arthritis stroke infection covid pneumonia bronchitis insomnia adhd autism heart blood pressure cholesterol disorder sick vaccine ulcer
injury: sprain broken fracture ankle knee wrist concussion bruise cut
emotion feel mood: happy sad proud anxious nervous excited grateful stressed lonely scared frustrated relieved disappointed overwhelmed
event: festival parade conference concert party wedding workshop meeting fair show exhibition ceremony fundraiser tournament race gala meetup retreat webinar seminar lecture reunion carnival rally auction premiere gig performance competition marathon hackathon
celebration holiday: birthday wedding anniversary christmas thanksgiving halloween easter party
place location: city park beach lake museum restaurant cafe mountain country town forest church school library hotel airport station hospital gym theater cinema bar pub bookstore mall market garden zoo stadium castle island village downtown
country: canada france italy germany spain england japan china india mexico brazil australia ireland sweden norway greece turkey thailand scotland wales portugal netherlands belgium switzerland austria poland denmark finland iceland russia ukraine egypt morocco kenya nigeria ghana ethiopia israel iran iraq pakistan bangladesh nepal vietnam indonesia malaysia singapore philippines korea taiwan argentina chile peru colombia cuba jamaica america usa europe africa asia abroad
state: california florida texas oregon washington colorado minnesota michigan georgia alaska arizona nevada ohio illinois virginia pennsylvania massachusetts wisconsin utah hawaii montana tennessee kentucky louisiana alabama carolina maryland missouri indiana iowa kansas nebraska oklahoma idaho wyoming maine vermont connecticut
city: paris london tokyo york boston seattle chicago toronto rome barcelona berlin sydney dublin amsterdam vienna prague lisbon madrid milan venice florence athens istanbul moscow cairo dubai mumbai delhi bangkok singapore shanghai beijing seoul melbourne vancouver montreal miami denver austin dallas houston atlanta portland angeles francisco vegas edinburgh munich hamburg brussels stockholm oslo copenhagen
volunteer charity community cause: shelter fundraiser donate homeless foodbank soup kitchen mentor cleanup veteran tutoring
pet shelter: adopt rescue foster
technology gadget device: phone laptop tablet computer camera console printer drone headphone watch app ipad iphone macbook router speaker keyboard monitor smartwatch kindle gps tv robot vr
skill language: spanish french german italian japanese chinese english portuguese korean coding russian arabic hindi turkish polish dutch swedish greek latin mandarin
plant flower: rose sunflower tulip orchid lily daisy succulent cactus fern basil tree lavender jasmine hydrangea marigold iris peony herb mint rosemary bamboo ivy tomato
color: red blue green yellow purple pink orange black white brown gray
weather: rain snow storm sun wind hurricane flood heat
destress relax unwind cope: yoga meditation walk bath read music dance paint run massage nature
financial money: loan debt rent mortgage salary savings bill afford budget bank
religious faith: church pray god bible christian muslim jewish buddhist temple mosque catholic
political: liberal conservative democrat republican vote campaign election rights
trait personality attribute describe: kind thoughtful brave caring creative generous honest passionate supportive patient driven
military: army navy marine veteran soldier deploy
friend: buddy pal bestie mate roommate neighbor
music musician song: band concert album singer guitar piano playlist lyric festival vinyl
competition contest tournament: win place trophy medal final match compete champion score
achievement accomplish milestone success: win award promote graduate finish publish medal record pass
challenge struggle obstacle difficulty setback: hard tough stress worry fail lose fear injury
project: build design develop prototype finish launch
business startup company shop: store customer client launch product market sale investor loan
travel trip vacation destination visit: flight hotel beach island paris london rome japan italy spain mexico hawaii cruise tour airport camp
hometown origin roots: grow born childhood village
memory childhood nostalgia: remember kid grandma grandpa young
symbol symbolize represent meaning significance: remind mean stand
inspire motivate influence encourage: passion remind hero mentor
collect collection: figurine stamp coin vinyl book card sneaker poster
ingredient recipe: flour sugar butter egg milk garlic onion oil salt cheese chocolate vanilla
appliance: fridge oven microwave dishwasher washer dryer vacuum toaster
room: kitchen bedroom bathroom basement garage attic office balcony
symptom pain: headache fever cough nausea fatigue dizzy rash ache
body: arm leg back shoulder knee ankle hip neck stomach hand
doctor medical: hospital clinic appointment checkup surgeon prescription diagnosis therapist dentist
subject: math science history biology physics chemistry art english economics psychology
season: summer winter spring autumn fall
meal: breakfast lunch dinner brunch
software programming code: app website python javascript database server framework script
document paperwork: passport visa contract lease form license application
habit routine lifestyle: morning daily quit diet sleep walk
gathering reunion: party dinner picnic barbecue family friend
transportation commute: drive bus train bike subway walk
accident emergency: crash hit hospital broken damage fire
ceremony: graduation wedding funeral baptism
reading author genre: novel fantasy mystery fiction romance thriller poetry
beauty style: hair makeup dye cut tattoo
camp trip: tent campfire trail lake mountain
renovate improvement: paint floor kitchen roof repair wall
drug medication medicine: pill antibiotic aspirin ibuprofen insulin inhaler vitamin painkiller prescription
insurance: policy claim premium coverage deductible
school grade: kindergarten elementary middle high freshman senior
pet breed: retriever poodle labrador shepherd terrier beagle bulldog husky chihuahua siamese persian
toy: doll lego puzzle teddy
tool: hammer drill screwdriver saw wrench ladder
sleep: nap insomnia bed night tired
money spend cost price: dollar euro bucks pay
platform website app social: youtube instagram facebook twitter tiktok reddit twitch blog podcast
goal plan: want hope dream aim`;

const table = new Map<string, string[]>();
for (const line of KINDS.split("\n")) {
  const [kinds = "", things = ""] = line.split(": ");
  for (const kind of kinds.split(" ").map(termOf)) {
    const known = table.get(kind) ?? [];
    known.push(...things.split(" "));
    table.set(kind, known);
  }
}

/** Terms of the things; stemmed only when asked for, as most of the table never is. */
export function thingsOf(kind: string): string[] {
  const things = new Set(table.get(kind)?.map(termOf));
  things.delete(kind);
  return [...things];
}

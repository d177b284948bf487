import { termOf } from "./normalise.ts";

/**
 * Everyday English words that people use for each other when they ask about what they wrote. A line is a group; a
 * word may stand in several. Ours, written by hand, and of close words only: a wrong synonym costs more than a missing one.
 */
const GROUPS = `job work career profession occupation employment
company employer firm business
boss manager supervisor
coworker colleague teammate
salary pay wage income
hobby interest pastime activity
like love enjoy favorite
dislike hate
happy glad excited thrilled
sad upset unhappy
afraid scared fear
angry mad
tired exhausted
sick ill illness disease
doctor physician
medicine medication drug
health wellness fitness
exercise workout gym training
diet nutrition
kid child son daughter
parent mom dad
grandma grandmother granny
grandpa grandfather
brother sister sibling
husband wife spouse partner
boyfriend girlfriend partner
marry marriage wedding
friend buddy pal
pet dog cat puppy kitten
house home apartment flat
live reside stay move
city town
country nation
road street
trip travel vacation holiday journey visit
hike trail trek
beach ocean sea
car vehicle
plane flight fly
buy purchase get
sell sale
cost price expense
money cash funds
gift present
begin start launch
end finish complete
stop quit
make create build craft
fix repair
plan intend goal
dream goal aspiration
decide decision choose choice
try attempt
help support assist aid
teach teacher instructor coach
student pupil
learn study
school college university education
class course lesson workshop
degree graduate diploma
book novel read author
story tale
write author writer
movie film cinema watch
show series tv
music song band concert
instrument guitar piano violin
art painting draw paint
dance dancing
game gaming play
sport team league
win victory champion prize award
lose loss defeat
competition contest tournament race
event festival fair gathering party
meet encounter
talk chat discuss conversation speak
say tell mention
ask question
idea suggestion recommend advice
problem issue trouble challenge difficulty
bug defect error fault
accident crash injury
big large huge
small little tiny
beautiful pretty gorgeous
food meal dish cuisine
cook bake recipe
dinner supper
drink beverage
clothes clothing outfit
phone mobile cell
computer laptop pc
picture photo image
email mail
volunteer charity donate
church religion faith
feel emotion feeling
remember recall memory
name called
country origin
birthday birth born
old age
year annual
schedule calendar
deadline due
release ship deploy
config configuration setting
delete remove
add insert
change modify update
participate join attend
recently lately
relax unwind
stress pressure anxiety
encourage inspire motivate
proud pride accomplish achieve
grateful thankful appreciate
surprise shock
worry concern nervous anxious
lucky fortunate
photo picture photograph
mother mom mum mama
father dad papa
family relative
baby newborn infant
pregnant expecting pregnancy
engaged propose fiance
divorce separate breakup
funeral die death
neighbor neighborhood
roommate flatmate
store shop boutique
restaurant cafe diner
customer client
hire recruit
fire layoff
resign quit leave
promotion promote raise
interview apply application
exam test quiz
homework assignment
professor lecturer
scholarship grant
lesson tutor
bicycle bike cycle
automobile car
train railway
hotel hostel airbnb
luggage suitcase
forest wood
hill mountain peak
river stream creek
garden yard
injure hurt wound
surgery operation
therapy therapist counseling counselor
sleep nap
run jog
climb bouldering
tent camp
paint portrait canvas
sculpture pottery clay ceramic
sing singer vocal
perform performance stage
audience crowd
champion winner
trophy medal
coach trainer
collect collection
recipe ingredient
breakfast brunch
dessert sweet
lunch meal
tasty delicious
vegetarian vegan
alcohol beer wine
cab taxi uber
lawyer attorney
police cop
theft steal rob
rent lease
loan mortgage debt
invest investment stock
donate donation fundraiser
protest march rally
vote election
military army
immigrant immigrate
language speak fluent
culture tradition
god pray faith
spiritual meditation
weather storm rain
code program software
bug fix
website site webpage
server host
repo repository
meeting appointment call
contract agreement
delay postpone
break broken damage
lost lose misplace
find discover
receive got get
borrow lend
clean tidy
cheap affordable
expensive pricey
fast quick
funny hilarious
smart clever
kind nice caring
shy introvert
brave courage courageous
strong strength
weird strange odd
television tv
video clip
laptop notebook
cellphone smartphone phone
password credential secret
directory folder`;

const table = new Map<string, Set<string>>();
for (const group of GROUPS.split("\n")) {
  const terms = [...new Set(group.split(" ").map(termOf))];
  for (const term of terms) {
    const others = table.get(term) ?? new Set();
    for (const other of terms) if (other !== term) others.add(other);
    table.set(term, others);
  }
}

export function synonymsOf(term: string): string[] {
  return [...(table.get(term) ?? [])];
}
